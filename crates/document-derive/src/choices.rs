//! Enums.

use crate::attributes::{Container, Part, Style};
use crate::fields;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, Error, Fields, Result};

pub(crate) fn of(container: &Container, style: Style, choices: &DataEnum) -> Result<TokenStream> {
    let (mut names, mut aliases, mut arms) = (Vec::new(), Vec::new(), TokenStream::new());
    for (index, choice) in choices.variants.iter().enumerate() {
        let said = Part::of(&choice.attrs)?;
        let name = &choice.ident;
        names.push(said.rename.unwrap_or_else(|| container.rename_all.choice(&name.to_string())));
        let number = u8::try_from(index).map_err(|_| Error::new(name.span(), "too many choices"))?;
        aliases.extend(said.aliases.into_iter().map(|alias| (alias, number)));
        let value = match &choice.fields {
            Fields::Unit => quote!(choice.nothing().map(|()| Self::#name)),
            Fields::Unnamed(unnamed) if unnamed.unnamed.len() == 1 => quote!(choice.held().map(Self::#name)),
            Fields::Unnamed(unnamed) => {
                return Err(Error::new_spanned(unnamed, "a choice holds one thing, or named ones"));
            }
            Fields::Named(named) => {
                let read = fields::Named::of(container, container.rename_all_fields, named)?;
                let (shape, values) = (read.shape(), read.values());
                quote! {{
                    #shape
                    choice.fields(&SHAPE).and_then(|fields| Ok(Self::#name { #values }))
                }}
            }
        };
        arms.extend(quote!(#index => #value,));
    }
    let are_words = choices.variants.iter().all(|choice| matches!(choice.fields, Fields::Unit));
    let read = if are_words {
        let (words, index) = (choices.variants.iter().map(|choice| &choice.ident), 0_usize..);
        quote! {
            match reader.word(&CHOICES)? {
                #(#index => Ok(Self::#words),)*
                _ => Err(::plumb_document::ReadError::unknown()),
            }
        }
    } else {
        quote! {
            let choice = reader.choice(&CHOICES)?;
            let read = match choice.index() {
                #arms
                _ => Err(::plumb_document::ReadError::unknown()),
            };
            read.map_err(|error| choice.at(error))
        }
    };
    let others: Vec<u8> = aliases.iter().map(|(_, number)| *number).collect();
    names.extend(aliases.into_iter().map(|(alias, _)| alias));
    let style = style.tokens();
    Ok(quote! {
        static CHOICES: ::plumb_document::Choices = ::plumb_document::Choices {
            names: ::plumb_document::Names { all: &[#(#names),*], others: &[#(#others),*] },
            style: ::plumb_document::Style::#style,
        };
        #read
    })
}

pub(crate) fn untagged(container: &Container, choices: &DataEnum) -> Result<TokenStream> {
    let mut attempts = TokenStream::new();
    for choice in &choices.variants {
        let name = &choice.ident;
        match &choice.fields {
            Fields::Unnamed(unnamed) if unnamed.unnamed.len() == 1 => attempts.extend(quote! {
                if let Ok(held) = ::plumb_document::FromDocument::from_document(reader) {
                    return Ok(Self::#name(held));
                }
            }),
            other => return Err(Error::new_spanned(other, "an untagged choice holds one thing")),
        }
    }
    let expecting = container.expecting.as_deref().unwrap_or("nothing of what it may be fits");
    Ok(quote! {
        #attempts
        Err(::plumb_document::ReadError::custom(#expecting))
    })
}
