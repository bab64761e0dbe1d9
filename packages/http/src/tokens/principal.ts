/** The claim that names a principal, and its value. */
export interface Principal {
  readonly issuer: string
  readonly claim: 'sub' | 'client_id' | 'api_key'
  readonly value: string
}

/** Neither an issuer nor a claim's name contains a blank, so two principals never share a key. */
export function ownerOf({ issuer, claim, value }: Principal): string {
  return `${issuer} ${claim} ${value}`
}
