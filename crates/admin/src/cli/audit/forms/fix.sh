{% macro part(of, before="") %}

{% if of.mended %}
{{ before|safe }}{{ of.oc|safe }}# Only the next machine of each set is made from the new image. What would replace or stop machines that run is below, by hand.
patches() {
{% for set in of.mended %}
    # {{ set.title }}: {{ set.message }}
{% if set.wantVersion %}
    # from {{ set.image or "no image" }} to {{ set.wantVersion }}
{% endif %}
    {{ set.patch|safe }} "$@"
{% endfor %}
}

# The server tries all of it first, and changes nothing. If it rejects one, nothing is applied.
patches --dry-run=server
patches
{% else %}
# There is nothing that one command mends.
{% endif %}
{% if of.by_hand %}

# By hand:
{% endif %}
{% for set in of.by_hand %}
# {{ set.title }}: {{ set.advice or set.message }}
{% if set.patch %}
# It may be allowed as it is: {{ set.message }}. The command:
#     {{ set.patch }}
{% endif %}
{% if set.patchFile %}
{% for line in set.patchFile.text|lines %}
#     {{ line }}
{% endfor %}
{% endif %}
{% endfor %}
{% for what, command in of.keep %}

# {{ what }}
# {{ command }}
{% endfor %}
{% if of.oldest is not none %}

# {{ of.oldest.says }}
# {{ of.oldest.above_command }}
# {{ of.oldest.command }}
# The way back:
# {{ of.oldest.wayBack }}
{% endif %}
{% endmacro %}
{% macro head(of) %}
{% for name, value in of.head %}
# {{ name }}: {{ value }}
{% endfor %}
{% if of.own is not none %}
# the cluster's own release: {{ of.own }}
{% endif %}
{% endmacro %}
#!/bin/sh
# What `oc skewguard audit` found, and one command each mends. Read it before you run it.
# {{ sentence }}
{% if later is not none %}
# {{ later }}
{% endif %}
{% if alone %}
{{ head(clusters[0].audit) }}{{ part(clusters[0].audit, "set -eu\n\n") }}
{%- else %}
# One cluster after another; where one of them refuses something, the script ends.

set -eu
{% for cluster in clusters %}

# == {{ cluster.context }}
{% if cluster.audit %}
{{ head(cluster.audit) }}(
{{ part(cluster.audit) }}:
)
{% else %}
# not audited: {{ cluster.error or "" }}
{% endif %}
{% endfor %}
{% endif %}
