//! Asks hostnamed and rpm-ostree over D-Bus. The calls only read and have a time limit; a report
//! can do without the answers.

use crate::text;
use serde::Serialize;
use std::collections::HashMap;
use std::time::Duration;
use zbus::{Connection, OwnedObjectPath, OwnedVariant, connection};

/// The system bus (D-Bus specification, "System message bus").
pub(crate) const SYSTEM_BUS: &str = "unix:path=/run/dbus/system_bus_socket";

/// How long one service may take. D-Bus starts each on its first call, and the node may still be
/// booting.
const PATIENCE: Duration = Duration::from_secs(5);

/// The D-Bus interface that properties are read with.
pub(crate) const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

/// rpm-ostree's own view of the booted deployment, to compare with the verdict's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BootedDeployment {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// `container-image-reference`; only after a rebase to a container image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_image_reference: Option<String>,
}

/// Asks for one property; `None` where there is no usable answer.
async fn property<T>(
    bus: &Connection,
    service: &str,
    path: &str,
    interface: &str,
    name: &str,
) -> Option<T>
where
    T: TryFrom<OwnedVariant>,
{
    let answer = bus
        .call_method(
            Some(service),
            path,
            Some(PROPERTIES),
            "Get",
            &(interface, name),
        )
        .await
        .ok()?;
    T::try_from(answer.body().deserialize::<OwnedVariant>().ok()?).ok()
}

/// Connects to the bus at `address` and runs `ask`; `None` where that takes longer than
/// [`PATIENCE`].
async fn on_bus<T>(address: &str, ask: impl AsyncFnOnce(Connection) -> Option<T>) -> Option<T> {
    let answer = async { ask(connection::Builder::address(address).build().await.ok()?).await };
    tokio::time::timeout(PATIENCE, answer).await.ok()?
}

/// The property `Hostname` of `org.freedesktop.hostname1`.
pub(crate) async fn hostname(address: &str) -> Option<String> {
    let service = "org.freedesktop.hostname1";
    on_bus(address, async |bus| {
        property(
            &bus,
            service,
            "/org/freedesktop/hostname1",
            service,
            "Hostname",
        )
        .await
    })
    .await
}

/// The booted deployment according to `org.projectatomic.rpmostree1`, with printable text.
pub(crate) async fn booted_deployment(address: &str) -> Option<BootedDeployment> {
    let (service, sysroot) = (
        "org.projectatomic.rpmostree1",
        "/org/projectatomic/rpmostree1/Sysroot",
    );
    let found: HashMap<String, OwnedVariant> = on_bus(address, async |bus| {
        let booted: OwnedObjectPath = property(
            &bus,
            service,
            sysroot,
            "org.projectatomic.rpmostree1.Sysroot",
            "Booted",
        )
        .await?;
        property(
            &bus,
            service,
            booted.as_str(),
            "org.projectatomic.rpmostree1.OS",
            "BootedDeployment",
        )
        .await
    })
    .await?;
    let bounded = |text: &str| text::bounded(&text::printable(text), text::KEPT_MAX);
    let string = |key: &str| {
        found
            .get(key)
            .and_then(|value| <&str>::try_from(value).ok())
            .map(bounded)
    };
    let deployment = BootedDeployment {
        version: string("version"),
        checksum: string("checksum"),
        container_image_reference: string("container-image-reference"),
    };
    (deployment != BootedDeployment::default()).then_some(deployment)
}
