const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const

export type Style = keyof typeof codes

/** With a colour where the terminal has them. */
export function paint(text: string, style: Style, { hasColour }: { readonly hasColour: boolean }): string {
  return hasColour ? `\u001b[${codes[style]}m${text}\u001b[0m` : text
}
