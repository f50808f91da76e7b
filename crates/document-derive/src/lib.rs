//! `#[derive(FromDocument)]` reads a type from a document by a few calls for each of its fields; `#[derive(ToDocument)]` writes
//! it by a list of its fields.
//!
//! serde's own macros write a loop over a map's entries with a choice for each field, and a call with its own way out of errors for
//! each that is written, all inlined: several times the code. These read serde's attributes (`#[serde(…)]`), as schemars does, and
//! know only those that Plumb's types use; any other does not compile.

mod attributes;
mod choices;
mod fields;
mod writing;

use attributes::{Container, Style};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, GenericParam, Result, parse_quote};

/// Reads a struct or an enum from a document, as `plumb-document`'s page says.
#[proc_macro_derive(FromDocument, attributes(serde))]
pub fn from_document(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    reading(input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Writes a struct or an enum as a document, as `plumb-document`'s page says.
#[proc_macro_derive(ToDocument, attributes(serde))]
pub fn to_document(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    writing::of(input).unwrap_or_else(|error| error.to_compile_error()).into()
}

fn reading(mut input: DeriveInput) -> Result<TokenStream> {
    let container = Container::of(&input.attrs)?;
    let body = match (&container.try_from, &input.data) {
        (Some(from), _) => quote! {
            let from: #from = ::plumb_document::FromDocument::from_document(reader)?;
            Self::try_from(from).map_err(::plumb_document::ReadError::custom)
        },
        (None, Data::Struct(data)) => of_struct(&container, &data.fields)?,
        (None, Data::Enum(data)) if container.untagged => choices::untagged(&container, data)?,
        (None, Data::Enum(data)) => choices::of(&container, Style::of(container.rename.as_deref()), data)?,
        (None, Data::Union(_)) => return Err(Error::new(input.ident.span(), "a union cannot be read")),
    };
    for parameter in &mut input.generics.params {
        if let GenericParam::Type(parameter) = parameter {
            parameter.bounds.push(parse_quote!(::plumb_document::FromDocument));
        }
    }
    let name = &input.ident;
    let (parameters, arguments, conditions) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #parameters ::plumb_document::FromDocument for #name #arguments #conditions {
            fn from_document(
                reader: ::plumb_document::Reader<'_>,
            ) -> ::core::result::Result<Self, ::plumb_document::ReadError> {
                #body
            }
        }
    })
}

fn of_struct(container: &Container, of: &Fields) -> Result<TokenStream> {
    match of {
        Fields::Named(named) => {
            let read = fields::Named::of(container, container.rename_all, named)?;
            let (shape, values) = (read.shape(), read.values());
            let rest = if container.default {
                quote!(let default = <Self as ::core::default::Default>::default();)
            } else {
                TokenStream::new()
            };
            Ok(quote! {
                #shape
                let fields = reader.fields(&SHAPE)?;
                #rest
                Ok(Self { #values })
            })
        }
        Fields::Unnamed(unnamed) if unnamed.unnamed.len() == 1 => {
            Ok(quote!(Ok(Self(::plumb_document::FromDocument::from_document(reader)?))))
        }
        other => Err(Error::new_spanned(other, "fields without names, other than a single one, cannot be read")),
    }
}
