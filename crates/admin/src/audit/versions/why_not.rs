//! Reasons why no version is known of what a set names, in words (pure).

use skewguard_cluster::kinds::image::WhyNot;

pub(crate) fn words(why: WhyNot) -> &'static str {
    match why {
        WhyNot::UnknownPlatform => "the platform is not one whose image field is known",
        WhyNot::Filter => {
            "a filter chooses the AMI (ami.filters), and does not say which it is now"
        }
        WhyNot::Arn => "an ARN names the AMI (ami.arn)",
        WhyNot::NoText => "the field of its image is no text, names it by half, or there are two",
        WhyNot::FieldAbsent => "the template does not name its image",
        WhyNot::FieldNotUnderstood => "its image is named in a field that is not understood",
        WhyNot::Foreign => {
            "its name is given by another project or publisher, and no node made from it has a label"
        }
        WhyNot::Family => {
            "a family chooses the image, and does not say which it is now; no node made from it has a label"
        }
        WhyNot::LabelledWindows => {
            "it is labelled for Windows (machine.openshift.io/os-id, a NodePool's imageType), and its image is one of CoreOS"
        }
        WhyNot::NoImage => "the template names no image",
        WhyNot::TemplateUnread => "the infrastructure template that it refers to was not read",
        WhyNot::MirrorUnread => {
            "the Cluster API's set of its name, which is in charge of it, was not read"
        }
        WhyNot::DomainUnread => "the template of its failure domain was not read",
        WhyNot::DomainWithoutTemplate => {
            "the Infrastructure does not name the template of its failure domain"
        }
        WhyNot::ProvisioningUnread => "install_coreos: the Provisioning object was not read",
        WhyNot::ProvisioningHasOwn => {
            "install_coreos: the Provisioning object names images of its own"
        }
        WhyNot::ReleaseHasNone => {
            "install_coreos: the ConfigMap coreos-bootimages has no image for it"
        }
        WhyNot::Release => "a release does not say which boot image is in it",
        WhyNot::ReleaseImage => "a release image does not say which boot image is in it",
        WhyNot::Selector => {
            "a selector chooses the AMI (spec.amiSelectorTerms), and no status says which it is"
        }
        WhyNot::NodeClassUnread => "its EC2NodeClass was not read",
        WhyNot::MakerNotUnderstood => "what makes its nodes is not understood",
        WhyNot::Unlabelled => {
            "no Machine stands for its nodes, and the newest of them has no label"
        }
        WhyNot::MayBeSwapped => {
            "the Machine Config Operator may put images into the template, under its name: what says so was not read"
        }
        WhyNot::Swapped => {
            "the Machine Config Operator puts the release's image into the template, under its name, and no Machine was made since its last update"
        }
    }
}
