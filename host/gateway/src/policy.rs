//! What may leave, and what must not come back. Pure, and knows no other room.

pub(crate) mod address;
pub(crate) mod aws;
pub(crate) mod certificates;
pub(crate) mod google;
pub(crate) mod grants;
pub(crate) mod header;
pub(crate) mod header_secrets;
pub(crate) mod masker;
pub(crate) mod oauth;
pub(crate) mod origin;
pub(crate) mod secret;
pub(crate) mod signer;
