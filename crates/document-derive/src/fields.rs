//! Fields with names: their keys, and the call that reads each.

use crate::attributes::{Absent, Container, Part, Spelling};
use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Error, FieldsNamed, Result};

/// The fields of a struct, or of a choice.
pub(crate) struct Named {
    /// The field's own key of each, then what else they are called.
    keys: Vec<String>,
    /// The field that each of the other keys belongs to.
    others: Vec<u8>,
    values: TokenStream,
    is_closed: bool,
}

/// How many fields a document's reader notes.
const MOST: usize = 96;

impl Named {
    pub(crate) fn of(container: &Container, spelling: Spelling, fields: &FieldsNamed) -> Result<Named> {
        let (mut keys, mut aliases, mut values) = (Vec::new(), Vec::new(), TokenStream::new());
        for field in &fields.named {
            let said = Part::of(&field.attrs)?;
            let Some(name) = &field.ident else { continue };
            if said.skip {
                values.extend(quote!(#name: ::core::default::Default::default(),));
                continue;
            }
            if said.flatten {
                values.extend(quote!(#name: fields.rest()?,));
                continue;
            }
            let index = keys.len();
            let number = u8::try_from(index).ok().filter(|_| index < MOST);
            let number = number.ok_or_else(|| Error::new(name.span(), "too many fields: see `Fields`"))?;
            keys.push(said.rename.unwrap_or_else(|| spelling.field(&name.unraw().to_string())));
            aliases.extend(said.aliases.into_iter().map(|alias| (alias, number)));
            let value = match (said.read_with, said.absent) {
                (Some(read), Absent::Required) => quote!(fields.with(#index, #read)?),
                (Some(read), _) => return Err(Error::new_spanned(read, "has no default: none is needed so far")),
                (None, Absent::Made(make)) => quote!(fields.or_made(#index, #make)?),
                (None, Absent::Default) => quote!(fields.or_default(#index)?),
                (None, Absent::Required) if container.default => quote!(fields.or_value(#index, default.#name)?),
                (None, Absent::Required) => quote!(fields.required(#index)?),
            };
            values.extend(quote!(#name: #value,));
        }
        let others = aliases.iter().map(|(_, number)| *number).collect();
        keys.extend(aliases.into_iter().map(|(alias, _)| alias));
        Ok(Named { keys, others, values, is_closed: container.deny_unknown_fields })
    }

    /// The item that says which keys there are.
    pub(crate) fn shape(&self) -> TokenStream {
        let Named { keys, others, is_closed, .. } = self;
        quote! {
            static SHAPE: ::plumb_document::Shape = ::plumb_document::Shape {
                names: ::plumb_document::Names { all: &[#(#keys),*], others: &[#(#others),*] },
                is_closed: #is_closed,
            };
        }
    }

    /// Each field with its value, from `fields` and `default`.
    pub(crate) fn values(&self) -> &TokenStream {
        &self.values
    }
}
