//! What is written: the list of a type's fields, or which of its choices it is and what that holds.

use crate::attributes::{Container, Part, Spelling, Style};
use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Data, DataEnum, DeriveInput, Error, Fields, FieldsNamed, GenericParam, Ident, Result, parse_quote};

pub(crate) fn of(mut input: DeriveInput) -> Result<TokenStream> {
    let container = Container::of(&input.attrs)?;
    let body = match (&container.into, &input.data) {
        (Some(into), _) => quote! {
            let into: #into = ::core::convert::From::from(::core::clone::Clone::clone(self));
            ::plumb_document::ToDocument::to_document(&into)
        },
        (None, Data::Struct(data)) => of_struct(&container, &data.fields)?,
        (None, Data::Enum(data)) => of_enum(&container, data)?,
        (None, Data::Union(_)) => return Err(Error::new(input.ident.span(), "a union cannot be written")),
    };
    for parameter in &mut input.generics.params {
        if let GenericParam::Type(parameter) = parameter {
            parameter.bounds.push(parse_quote!(::plumb_document::ToDocument));
        }
    }
    let name = &input.ident;
    let (parameters, arguments, conditions) = input.generics.split_for_impl();
    let for_schemas = if cfg!(feature = "schema") {
        quote! {
            #[automatically_derived]
            impl #parameters ::plumb_document::for_schemas::Serialize for #name #arguments #conditions {
                fn serialize<Serializer: ::plumb_document::for_schemas::Serializer>(
                    &self,
                    serializer: Serializer,
                ) -> ::core::result::Result<Serializer::Ok, Serializer::Error> {
                    ::plumb_document::for_schemas::serialize(self, serializer)
                }
            }
        }
    } else {
        TokenStream::new()
    };
    Ok(quote! {
        #[automatically_derived]
        impl #parameters ::plumb_document::ToDocument for #name #arguments #conditions {
            fn to_document(&self) -> ::core::result::Result<::plumb_document::Value, ::plumb_document::WriteError> {
                #body
            }
        }
        #for_schemas
    })
}

fn of_struct(container: &Container, fields: &Fields) -> Result<TokenStream> {
    match fields {
        Fields::Named(named) => {
            let written = Named::of(container.rename_all, named, |name| quote!(&self.#name))?;
            let (names, values) = (written.names(), written.values);
            Ok(quote!(#names.table(&[#(#values),*])))
        }
        Fields::Unnamed(unnamed) if unnamed.unnamed.len() == 1 => {
            Ok(quote!(::plumb_document::ToDocument::to_document(&self.0)))
        }
        other => Err(Error::new_spanned(other, "fields without names, other than a single one, cannot be written")),
    }
}

fn of_enum(container: &Container, choices: &DataEnum) -> Result<TokenStream> {
    if container.untagged {
        let names = choices.variants.iter().map(|choice| &choice.ident);
        return Ok(quote!(match self { #(Self::#names(held) => ::plumb_document::ToDocument::to_document(held),)* }));
    }
    let style = Style::of(container.rename.as_deref()).tokens();
    let (mut words, mut names, mut arms) = (Vec::new(), Vec::new(), TokenStream::new());
    for choice in &choices.variants {
        let said = Part::of(&choice.attrs)?;
        let ident = &choice.ident;
        let name = said.rename.unwrap_or_else(|| container.rename_all.choice(&ident.to_string()));
        let (pattern, held) = match &choice.fields {
            Fields::Unit => {
                words.push(ident);
                names.push(name);
                continue;
            }
            Fields::Unnamed(unnamed) if unnamed.unnamed.len() == 1 => (quote!((held)), quote!(One(held))),
            Fields::Unnamed(unnamed) => {
                return Err(Error::new_spanned(unnamed, "a choice holds one thing, or named ones"));
            }
            Fields::Named(named) => {
                let written = Named::of(container.rename_all_fields, named, |name| quote!(#name))?;
                let (bound, names, values) = (&written.bound, written.names(), &written.values);
                (quote!({ #(#bound,)* .. }), quote!(Fields(#names, &[#(#values),*])))
            }
        };
        arms.extend(quote! {
            Self::#ident #pattern => ::plumb_document::choice(&STYLE, #name, ::plumb_document::Held::#held),
        });
    }
    // All words have one call: which they are is a look into a table.
    if !words.is_empty() {
        let indices = 0..words.len();
        // The others have had their arms.
        let rest = (words.len() < choices.variants.len()).then(|| quote!(_ => 0,));
        arms.extend(quote! {
            #(Self::#words)|* => {
                const NAMES: &[&str] = &[#(#names),*];
                let index: usize = match self { #(Self::#words => #indices,)* #rest };
                ::plumb_document::choice(&STYLE, NAMES[index], ::plumb_document::Held::Nothing)
            }
        });
    }
    Ok(quote! {
        static STYLE: ::plumb_document::Style = ::plumb_document::Style::#style;
        match self { #arms }
    })
}

/// The fields of a struct, or of a choice.
struct Named {
    /// Of each, but for those whose own keys stand beside the others: nothing.
    names: Vec<String>,
    /// A bit for each that is left out where its value is nothing.
    unless_nothing: u128,
    /// What each holds, or that it is left out.
    values: Vec<TokenStream>,
    /// The fields that are looked at.
    bound: Vec<Ident>,
}

impl Named {
    fn of(spelling: Spelling, fields: &FieldsNamed, value: impl Fn(&Ident) -> TokenStream) -> Result<Named> {
        let mut named = Named { names: Vec::new(), unless_nothing: 0, values: Vec::new(), bound: Vec::new() };
        for field in &fields.named {
            let said = Part::of(&field.attrs)?;
            let Some(name) = &field.ident else { continue };
            if said.skip {
                continue;
            }
            let value = value(name);
            let written = match &said.write_with {
                Some(write) => quote!(Some(&#write(#value))),
                None => quote!(Some(#value)),
            };
            let bit = 1_u128.checked_shl(named.names.len() as u32);
            let bit = bit.ok_or_else(|| Error::new(name.span(), "too many fields: see `FieldNames`"))?;
            let is_option = |path: &syn::ExprPath| quote!(#path).to_string() == "Option :: is_none";
            named.values.push(match &said.left_out_if {
                None => written,
                Some(path) if is_option(path) => {
                    named.unless_nothing |= bit;
                    written
                }
                Some(is_left_out) => quote!(if #is_left_out(#value) { None } else { #written }),
            });
            if said.flatten {
                named.unless_nothing |= bit;
            }
            let own = || said.rename.unwrap_or_else(|| spelling.field(&name.unraw().to_string()));
            named.names.push(if said.flatten { String::new() } else { own() });
            named.bound.push(name.clone());
        }
        Ok(named)
    }

    fn names(&self) -> TokenStream {
        let Named { names, unless_nothing, .. } = self;
        quote!(::plumb_document::FieldNames { all: &[#(#names),*], unless_nothing: #unless_nothing })
    }
}
