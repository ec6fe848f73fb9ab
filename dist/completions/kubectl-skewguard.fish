# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_kubectl_skewguard_global_optspecs
    string join \n h/help V/version
end

function __fish_kubectl_skewguard_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_kubectl_skewguard_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_kubectl_skewguard_using_subcommand
    set -l cmd (__fish_kubectl_skewguard_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_needs_command" -s h -l help -d 'Print help'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_needs_command" -s V -l version -d 'Print version'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_needs_command" -f -a "check" -d 'Decide about a boot image under a policy, and print the verdict'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_needs_command" -f -a "inspect" -d 'Decode boot image version strings'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_needs_command" -f -a "policy" -d 'Write, check and describe skew policies'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_needs_command" -f -a "audit" -d 'Say which sets of machines of a cluster a policy would refuse, before it enforces'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_needs_command" -f -a "render" -d 'Print what to apply to a cluster, or to give to Ignition'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_needs_command" -f -a "schema" -d 'Print the JSON Schema (2020-12) of a policy, or of what a command prints as JSON'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_needs_command" -f -a "completion" -d 'Print completions for a shell'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand check" -l policy -d 'The policy, JSON or YAML; - is standard input' -r -F
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand check" -l aleph -d 'The aleph file of the boot image; - is standard input' -r -F
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand check" -l target -d 'Release to ask about, such as the one to upgrade to' -r
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand check" -l pool -d 'Pool to ask about' -r
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand check" -s o -l output -d 'Form of the verdict' -r -f -a "text\t'For a person'
json\t'For a script; fields are only ever added'"
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand inspect" -s o -l output -d 'One line per version: text for a person, or a JSON object' -r -f -a "text\t'For a person'
json\t'For a script; fields are only ever added'"
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand policy; and not __fish_seen_subcommand_from init lint known-issues schema help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand policy; and not __fish_seen_subcommand_from init lint known-issues schema help" -f -a "init" -d 'Write a policy to start from'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand policy; and not __fish_seen_subcommand_from init lint known-issues schema help" -f -a "lint" -d 'Find every mistake of a policy, with its line and its remedy'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand policy; and not __fish_seen_subcommand_from init lint known-issues schema help" -f -a "known-issues" -d 'Print what is known to fail, as `knownIssues` of a policy (JSON)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand policy; and not __fish_seen_subcommand_from init lint known-issues schema help" -f -a "schema" -d 'Print the JSON Schema (2020-12) of a policy'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand policy; and not __fish_seen_subcommand_from init lint known-issues schema help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand policy; and __fish_seen_subcommand_from init" -s f -l file -d 'File to write instead of standard output; the description of the fields is written beside it, with the ending .md' -r -F
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand policy; and __fish_seen_subcommand_from init" -l force -d 'Replace files that exist'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand policy; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand policy; and __fish_seen_subcommand_from lint" -s o -l output -d 'Text for a person, or one JSON object for each file that can be read' -r -f -a "text\t'For a person'
json\t'For a script; fields are only ever added'"
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand policy; and __fish_seen_subcommand_from lint" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand policy; and __fish_seen_subcommand_from known-issues" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand policy; and __fish_seen_subcommand_from schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand policy; and __fish_seen_subcommand_from help" -f -a "init" -d 'Write a policy to start from'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand policy; and __fish_seen_subcommand_from help" -f -a "lint" -d 'Find every mistake of a policy, with its line and its remedy'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand policy; and __fish_seen_subcommand_from help" -f -a "known-issues" -d 'Print what is known to fail, as `knownIssues` of a policy (JSON)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand policy; and __fish_seen_subcommand_from help" -f -a "schema" -d 'Print the JSON Schema (2020-12) of a policy'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand policy; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand audit" -l policy -d 'The policy to try, JSON or YAML; it is judged as if its mode were Enforce' -r -F
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand audit" -l target -d 'Release to ask about, such as the one to upgrade to. Default: the cluster\'s own' -r
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand audit" -l from -d 'Files of `oc get -o json` or YAML, and folders and archives such as a must-gather; - is standard input' -r -F
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand audit" -l streams -d 'Stream metadata of other releases, whose images are then known: what `openshift-install coreos print-stream-json` prints; - is standard input' -r -F
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand audit" -l kubeconfig -d 'The kubeconfig to use, instead of those that oc finds; - is standard input' -r -F
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand audit" -l context -d 'The context to use, instead of the current one' -r
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand audit" -l print-commands -d 'Print a script, and do nothing else. objects: gathers what --from reads. labels: makes joined nodes label themselves, without a reboot. alephs: collects their aleph files for --from, where skewguard is not on them' -r -f -a "objects\t''
labels\t''
alephs\t''"
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand audit" -l request-timeout -d 'How long each request to the server may take, such as 30s or 2m' -r
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand audit" -l only -d 'Show only these sets; the summary and the exit status stay those of all' -r -f -a "refused\t'Whose next node would be refused'
unknown\t'Of which it is not known'"
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand audit" -s o -l output -d 'text: a line for each set. wide: all that is known. json and yaml: one object, whose fields are only ever added. html: one page, with a chart' -r -f -a "text\t'A line for each set'
wide\t'All that is known of each set'
json\t'For a script; fields are only ever added'
yaml\t'The same as YAML'
html\t'One file for a browser, with a chart; it needs no network'"
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand audit" -l insecure-skip-tls-verify -d 'Do not check the server\'s certificate. Whoever answers gets your credentials'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand audit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and not __fish_seen_subcommand_from machineconfig ignition pointer manifests alerts admission dashboard help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and not __fish_seen_subcommand_from machineconfig ignition pointer manifests alerts admission dashboard help" -f -a "machineconfig" -d 'One MachineConfig for a pool: policy, units and binary (YAML)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and not __fish_seen_subcommand_from machineconfig ignition pointer manifests alerts admission dashboard help" -f -a "ignition" -d 'An Ignition config with policy, units and binary (JSON)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and not __fish_seen_subcommand_from machineconfig ignition pointer manifests alerts admission dashboard help" -f -a "pointer" -d 'The addition to a MachineSet\'s user data that fetches the full binary at first boot (JSON)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and not __fish_seen_subcommand_from machineconfig ignition pointer manifests alerts admission dashboard help" -f -a "manifests" -d 'What the cluster needs besides the MachineConfig (YAML)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and not __fish_seen_subcommand_from machineconfig ignition pointer manifests alerts admission dashboard help" -f -a "alerts" -d 'Alerts for the cluster\'s own Prometheus (YAML)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and not __fish_seen_subcommand_from machineconfig ignition pointer manifests alerts admission dashboard help" -f -a "admission" -d 'What refuses a Machine before it exists (YAML)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and not __fish_seen_subcommand_from machineconfig ignition pointer manifests alerts admission dashboard help" -f -a "dashboard" -d 'A dashboard for the console (YAML)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and not __fish_seen_subcommand_from machineconfig ignition pointer manifests alerts admission dashboard help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from machineconfig" -l role -d 'The pool: worker, master, or a custom one' -r
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from machineconfig" -l policy -d 'Skew policy, JSON or YAML, or - for standard input; checked first, and refused if it is not valid' -r -F
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from machineconfig" -l binary -d 'Static binary for the nodes\' architecture, packed or not. Default: skewguard-embed beside this program' -r -F
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from machineconfig" -l compression -d 'How the binary is packed' -r -f -a "xz\t'A fifth smaller. RHCOS has xz from OpenShift 4.8 on, or earlier'
gzip\t'Every RHCOS has gzip'"
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from machineconfig" -l rendered -d 'The pool\'s current rendered MachineConfig as JSON, or - for standard input; the sum must fit as well' -r -F
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from machineconfig" -l policy-only -d 'Leave units and binary out, for nodes that have them from their boot image or from `render pointer`'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from machineconfig" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from ignition" -l spec -d 'Ignition spec: 2.2.0, or 3.0.0 to 3.5.0. The oldest 3.x is read by every later one' -r
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from ignition" -l policy -d 'Skew policy, JSON or YAML, or - for standard input; checked first, and refused if it is not valid' -r -F
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from ignition" -l binary -d 'Static binary for the nodes\' architecture, packed or not. Default: skewguard-embed beside this program' -r -F
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from ignition" -l compression -d 'How the binary is packed' -r -f -a "xz\t'A fifth smaller. RHCOS has xz from OpenShift 4.8 on, or earlier'
gzip\t'Every RHCOS has gzip'"
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from ignition" -l policy-only -d 'Leave units and binary out, for nodes that have them from their boot image or from `render pointer`'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from ignition" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from pointer" -l url -d 'Where the binary is, as Ignition reaches it: https, http, s3, tftp, or gs from spec 3.2.0' -r
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from pointer" -l sha512 -d 'SHA-512 of the binary, in hexadecimal' -r
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from pointer" -l spec -d 'Ignition spec of the addition. Default: 3.0.0' -r
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from pointer" -l user-data -d 'The MachineSet\'s user data, or - for standard input; it is printed with the addition in it, in its own spec' -r -F
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from pointer" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from manifests" -l audit -d 'With an audit every hour, in the cluster, of the policy that --policy names; IMAGE is the container image of this program' -r
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from manifests" -l policy -d 'Skew policy for --audit, JSON or YAML, or - for standard input' -r -F
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from manifests" -l base -d 'Without the admission policies, for clusters before Kubernetes 1.30 (OpenShift 4.17)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from manifests" -l prune -d 'With a nightly job that deletes reports older than 30 days'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from manifests" -l dashboard -d 'With a dashboard for the console'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from manifests" -l node-disruption-policy -d 'The node disruption policy that lets skewguard\'s files change without a reboot (OpenShift 4.17 and later)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from manifests" -l auditor -d 'The ClusterRole for `oc skewguard audit`, and nothing else'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from manifests" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from alerts" -l policy -d 'Skew policy, JSON or YAML, or - for standard input' -r -F
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from alerts" -l target -d 'Release whose limits apply, such as the one to upgrade to. Default: the limits for any release' -r
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from alerts" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from admission" -l policy -d 'Skew policy, JSON or YAML, or - for standard input. Its mode decides whether Machines are denied' -r -F
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from admission" -l audit -d 'What `oc skewguard audit --output json` printed, with the same policy, or - for standard input' -r -F
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from admission" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from dashboard" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from help" -f -a "machineconfig" -d 'One MachineConfig for a pool: policy, units and binary (YAML)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from help" -f -a "ignition" -d 'An Ignition config with policy, units and binary (JSON)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from help" -f -a "pointer" -d 'The addition to a MachineSet\'s user data that fetches the full binary at first boot (JSON)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from help" -f -a "manifests" -d 'What the cluster needs besides the MachineConfig (YAML)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from help" -f -a "alerts" -d 'Alerts for the cluster\'s own Prometheus (YAML)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from help" -f -a "admission" -d 'What refuses a Machine before it exists (YAML)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from help" -f -a "dashboard" -d 'A dashboard for the console (YAML)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand render; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand completion" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand help; and not __fish_seen_subcommand_from check inspect policy audit render schema completion help" -f -a "check" -d 'Decide about a boot image under a policy, and print the verdict'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand help; and not __fish_seen_subcommand_from check inspect policy audit render schema completion help" -f -a "inspect" -d 'Decode boot image version strings'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand help; and not __fish_seen_subcommand_from check inspect policy audit render schema completion help" -f -a "policy" -d 'Write, check and describe skew policies'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand help; and not __fish_seen_subcommand_from check inspect policy audit render schema completion help" -f -a "audit" -d 'Say which sets of machines of a cluster a policy would refuse, before it enforces'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand help; and not __fish_seen_subcommand_from check inspect policy audit render schema completion help" -f -a "render" -d 'Print what to apply to a cluster, or to give to Ignition'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand help; and not __fish_seen_subcommand_from check inspect policy audit render schema completion help" -f -a "schema" -d 'Print the JSON Schema (2020-12) of a policy, or of what a command prints as JSON'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand help; and not __fish_seen_subcommand_from check inspect policy audit render schema completion help" -f -a "completion" -d 'Print completions for a shell'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand help; and not __fish_seen_subcommand_from check inspect policy audit render schema completion help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand schema" -f -a "policy verdict status inspect lint audit"
complete -c kubectl-skewguard -n "__fish_kubectl_skewguard_using_subcommand completion" -f -a "bash zsh fish"
