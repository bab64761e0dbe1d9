import { createRequire } from 'node:module'

/** What `http-signature` 1.4.0 offers of draft-cavage-http-signatures; it ships no types. */
interface HttpSignatureLibrary {
  signRequest(
    request: SignableRequest,
    options: {
      readonly key: string
      readonly keyId: string
      readonly algorithm: string
      readonly headers: readonly string[]
      readonly authorizationHeaderName: string
    },
  ): boolean
  parseRequest(
    request: {
      readonly method: string
      readonly url: string
      readonly headers: Readonly<Record<string, string | undefined>>
    },
    options: { readonly headers: readonly string[]; readonly clockSkew: number },
  ): ParsedSignature
  verifySignature(parsed: ParsedSignature, publicKeyPem: string): boolean
}

/** The part of `http.ClientRequest` that the library's signer touches. */
interface SignableRequest {
  readonly method: string
  readonly path: string
  getHeader(name: string): string | undefined
  setHeader(name: string, value: string): void
}

interface ParsedSignature {
  readonly params: { readonly keyId: string; readonly headers: readonly string[] }
}

const require = createRequire(import.meta.url)

/** Loaded at the first signature: its key parser takes its time, and a world should open at once. */
export function loadHttpSignature(): HttpSignatureLibrary {
  return require('http-signature') as HttpSignatureLibrary
}
