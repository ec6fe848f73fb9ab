//! Puts every mutant of some source files into these files: `skewguard-mutants SKIP FILE...`.
//!
//! Each mutant is one change (a comparison, a logical operator, a sum, a negation, the value of a
//! function, an arm of a match) that `crate::mutants::on(N)` switches on. Files are replaced;
//! standard output has a line `N<tab>FILE<tab>LINE<tab>WHAT` for each. SKIP names the numbers to
//! leave out, separated by commas: those that do not compile, because types are not known here.

use proc_macro2::Span;
use std::collections::BTreeSet;
use std::process::ExitCode;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ReturnType, Type, UnOp};

/// A place of the source, and what it can be instead.
struct Edit {
    start: usize,
    end: usize,
    /// Number and text of each variant; of an insertion (start is end), number and what to insert.
    variants: Vec<(usize, String)>,
}

struct Finder<'a> {
    source: &'a str,
    file: &'a str,
    skip: &'a BTreeSet<usize>,
    /// The last number that was given.
    count: &'a mut usize,
    edits: Vec<Edit>,
    list: String,
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<syn::Ident>()
                    .is_ok_and(|word| word == "test")
    })
}

fn has_let(expression: &Expr) -> bool {
    struct Lets(bool);
    impl<'ast> Visit<'ast> for Lets {
        fn visit_expr_let(&mut self, _: &'ast syn::ExprLet) {
            self.0 = true;
        }
    }
    let mut lets = Lets(false);
    lets.visit_expr(expression);
    lets.0
}

impl Finder<'_> {
    fn text(&self, span: Span) -> &str {
        &self.source[span.byte_range()]
    }

    /// Gives a number to a mutant; `None` if it is left out.
    fn number(&mut self, span: Span, what: &str) -> Option<usize> {
        *self.count += 1;
        let number = *self.count;
        if self.skip.contains(&number) {
            return None;
        }
        let line = span.start().line;
        let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
        self.list += &format!("{number}\t{}\t{line}\t{what}\n", self.file);
        Some(number)
    }

    /// One expression in place of another.
    fn replace(&mut self, span: Span, others: Vec<(String, String)>) {
        let variants = others
            .into_iter()
            .filter_map(|(what, text)| Some((self.number(span, &what)?, text)))
            .collect();
        let range = span.byte_range();
        self.edits.push(Edit {
            start: range.start,
            end: range.end,
            variants,
        });
    }

    fn insert(&mut self, at: usize, number: usize, text: String) {
        self.edits.push(Edit {
            start: at,
            end: at,
            variants: vec![(number, text)],
        });
    }

    /// Values that a function may return instead.
    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        if block.stmts.is_empty() {
            return;
        }
        let values: &[&str] = match &signature.output {
            ReturnType::Default => &[""],
            ReturnType::Type(_, of) => values(of),
        };
        for value in values {
            let what = format!(
                "{} returns {}",
                signature.ident,
                if value.is_empty() { "at once" } else { value }
            );
            if let Some(number) = self.number(signature.ident.span(), &what) {
                let at = block.brace_token.span.open().byte_range().end;
                self.insert(
                    at,
                    number,
                    format!(" if crate::mutants::on({number}) {{ return {value}; }} "),
                );
            }
        }
    }
}

fn values(of: &Type) -> &'static [&'static str] {
    match of {
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else {
                return &[];
            };
            match last.ident.to_string().as_str() {
                "bool" => &["true", "false"],
                "Option" => &["None"],
                "String" => &["String::new()"],
                "Vec" => &["Vec::new()"],
                "u8" | "u16" | "u32" | "u64" | "usize" | "i64" => &["0", "1"],
                "Ordering" => &["std::cmp::Ordering::Equal"],
                _ => &[],
            }
        }
        Type::Reference(reference) => match &*reference.elem {
            Type::Path(path) if path.path.is_ident("str") => &["\"\""],
            _ => &[],
        },
        _ => &[],
    }
}

/// The operators in place of one.
fn others(operator: &BinOp) -> &'static [&'static str] {
    match operator {
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::Lt(_) => &["<=", ">="],
        BinOp::Le(_) => &["<", ">"],
        BinOp::Gt(_) => &[">=", "<="],
        BinOp::Ge(_) => &[">", "<"],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::Add(_) => &["-"],
        BinOp::Sub(_) => &["+"],
        BinOp::Mul(_) => &["+"],
        BinOp::Div(_) => &["*"],
        BinOp::AddAssign(_) => &["-="],
        BinOp::SubAssign(_) => &["+="],
        _ => &[],
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            // Not evaluated when the program runs.
            syn::Item::Const(_) | syn::Item::Static(_) | syn::Item::Enum(_) => return,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if item.sig.constness.is_none() {
            self.function(&item.sig, &item.block);
            visit::visit_block(self, &item.block);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if item.sig.constness.is_none() && !is_test(&item.attrs) {
            self.function(&item.sig, &item.block);
            visit::visit_block(self, &item.block);
        }
    }

    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_expr_repeat(&mut self, expression: &'ast syn::ExprRepeat) {
        // The length is a constant.
        self.visit_expr(&expression.expr);
    }

    fn visit_expr_binary(&mut self, expression: &'ast syn::ExprBinary) {
        let is_chain = matches!(expression.op, BinOp::And(_) | BinOp::Or(_))
            && (has_let(&expression.left) || has_let(&expression.right));
        if !is_chain {
            let (left, right) = (
                self.text(expression.left.span()),
                self.text(expression.right.span()),
            );
            let operator = self.text(expression.op.span());
            let variants: Vec<(String, String)> = others(&expression.op)
                .iter()
                .map(|other| {
                    let text = format!("{left} {other} {right}");
                    (
                        format!("{operator} is {other}: {left} {operator} {right}"),
                        text,
                    )
                })
                .collect();
            if !variants.is_empty() {
                self.replace(expression.span(), variants);
            }
        }
        visit::visit_expr_binary(self, expression);
    }

    fn visit_expr_unary(&mut self, expression: &'ast syn::ExprUnary) {
        if matches!(expression.op, UnOp::Not(_)) {
            let inner = self.text(expression.expr.span()).to_owned();
            let what = format!("without !: {inner}");
            self.replace(expression.span(), vec![(what, inner)]);
        }
        visit::visit_expr_unary(self, expression);
    }

    fn visit_expr_match(&mut self, expression: &'ast syn::ExprMatch) {
        let catches_all = |arm: &syn::Arm| {
            arm.guard.is_none()
                && match &arm.pat {
                    syn::Pat::Wild(_) => true,
                    syn::Pat::Ident(ident) => {
                        // A name in small letters binds whatever it is.
                        ident.subpat.is_none()
                            && ident.ident.to_string().starts_with(char::is_lowercase)
                    }
                    _ => false,
                }
        };
        if let Some((last, arms)) = expression.arms.split_last()
            && catches_all(last)
        {
            for arm in arms {
                let pattern = arm.pat.span();
                let what = format!("without the arm {}", self.text(pattern));
                let guard = arm.guard.as_ref().map(|(_, guard)| guard);
                if guard.is_some_and(|guard| has_let(guard)) {
                    continue;
                }
                let Some(number) = self.number(pattern, &what) else {
                    continue;
                };
                match guard {
                    None => {
                        let at = pattern.byte_range().end;
                        self.insert(at, number, format!(" if !crate::mutants::on({number})"));
                    }
                    Some(guard) => {
                        let range = guard.span().byte_range();
                        self.edits.push(Edit {
                            start: range.start,
                            end: range.end,
                            variants: vec![(number, "false".to_owned())],
                        });
                    }
                }
            }
        }
        visit::visit_expr_match(self, expression);
    }
}

/// The text between two places, with its edits, outer ones first.
fn render(
    source: &str,
    start: usize,
    end: usize,
    edits: &mut std::iter::Peekable<std::slice::Iter<'_, Edit>>,
) -> String {
    let mut out = String::new();
    let mut at = start;
    while let Some(edit) = edits.peek() {
        if edit.start >= end {
            break;
        }
        let edit = edits.next().expect("peeked");
        out += &source[at..edit.start];
        if edit.start == edit.end {
            out.extend(edit.variants.iter().map(|(_, text)| text.as_str()));
            at = edit.start;
            continue;
        }
        let inner = render(source, edit.start, edit.end, edits);
        if edit.variants.is_empty() {
            out += &inner;
        } else {
            out.push('(');
            for (number, text) in &edit.variants {
                out += &format!("if crate::mutants::on({number}) {{ {text} }} else ");
            }
            out += &format!("{{ {inner} }})");
        }
        at = edit.end;
    }
    out + &source[at..end]
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let skip = arguments.next().unwrap_or_default();
    let skip: BTreeSet<usize> = skip.split(',').filter_map(|n| n.parse().ok()).collect();
    let mut count = 0;
    for file in arguments {
        let source =
            std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
        let parsed = syn::parse_file(&source).unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut finder = Finder {
            source: &source,
            file: &file,
            skip: &skip,
            count: &mut count,
            edits: Vec::new(),
            list: String::new(),
        };
        finder.visit_file(&parsed);
        let Finder {
            mut edits, list, ..
        } = finder;
        edits.sort_by_key(|edit| (edit.start, std::cmp::Reverse(edit.end)));
        let mutated = render(&source, 0, source.len(), &mut edits.iter().peekable());
        std::fs::write(&file, mutated).unwrap_or_else(|error| panic!("{file}: {error}"));
        print!("{list}");
    }
    ExitCode::SUCCESS
}
