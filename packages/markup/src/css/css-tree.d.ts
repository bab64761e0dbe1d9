// Declares the types of those parts of the package css-tree that are used here.
declare module 'css-tree/tokenizer' {
  /** The types of tokens (CSS Syntax 3 §4). */
  export const tokenTypes: Readonly<Record<string, number>>
  /** Calls back for each token with its position in the text. */
  export function tokenize(text: string, onToken: (type: number, start: number, end: number) => void): void
}

declare module 'css-tree/utils' {
  export const ident: {
    /** Replaces the escapes of an identifier by their characters. */
    decode(text: string): string
  }
}
