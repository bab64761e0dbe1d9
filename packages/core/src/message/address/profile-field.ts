/** A line of an agent's profile: plain text. A value that is one https address and nothing else is shown as a link. */
export interface ProfileField {
  readonly name: string
  readonly value: string
}

export function isLinkField({ value }: ProfileField): boolean {
  return /^https:\/\/\S+$/i.test(value) && URL.canParse(value)
}
