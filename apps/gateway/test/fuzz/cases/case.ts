// Defines a case of the fuzzer, and converts it to and from a line of JSON.
export type CredentialName = 'none' | 'operator' | 'chat' | 'a2a' | 'intake' | 'postmark' | 'signed'

/** A case without its credential, which is created when the case is sent. */
export type FuzzCase = HttpCase | MailCase | GrpcCase

export interface HttpCase {
  readonly kind: 'http'
  /** The name of the endpoint, such as `POST /inbox`. */
  readonly endpoint: string
  readonly credential: CredentialName
  readonly method: string
  /** The path and query exactly as on the first line. */
  readonly target: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
  /** True if nothing follows, so that the request may be shorter than its declared length. */
  readonly isCut: boolean
}

export interface MailCase {
  readonly kind: 'mail'
  readonly endpoint: 'SMTP'
  /** Everything that the client sends after the greeting. */
  readonly body: Buffer
}

export interface GrpcCase {
  readonly kind: 'grpc'
  /** The path of the method. */
  readonly endpoint: string
  readonly credential: CredentialName
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** Writes a case as a line of JSON that `--repeat` reads. */
export function writeCase(fuzzCase: FuzzCase): string {
  return JSON.stringify({ ...fuzzCase, body: fuzzCase.body.toString('base64') })
}

export function readCase(line: string): FuzzCase {
  const { body, ...otherMembers } = JSON.parse(line) as FuzzCase & { readonly body: unknown }
  return { ...otherMembers, body: Buffer.from(String(body), 'base64') } as FuzzCase
}
