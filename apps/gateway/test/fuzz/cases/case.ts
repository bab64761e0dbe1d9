export type CredentialName = 'none' | 'operator' | 'chat' | 'a2a' | 'intake' | 'postmark' | 'signed'

/** Whatever is sent, without its credential: that is made when it goes. */
export type FuzzCase = HttpCase | MailCase | GrpcCase

export interface HttpCase {
  readonly kind: 'http'
  /** `POST /inbox` */
  readonly endpoint: string
  readonly credential: CredentialName
  readonly method: string
  /** Path and query as they stand on the first line. */
  readonly target: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
  /** Nothing follows: the request may be shorter than it says. */
  readonly isCut: boolean
}

export interface MailCase {
  readonly kind: 'mail'
  readonly endpoint: 'SMTP'
  /** All that the client says after the greeting. */
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

/** As a line of JSON that `--repeat` reads. */
export function writeCase(fuzzCase: FuzzCase): string {
  return JSON.stringify({ ...fuzzCase, body: fuzzCase.body.toString('base64') })
}

export function readCase(line: string): FuzzCase {
  const { body, ...rest } = JSON.parse(line) as FuzzCase & { readonly body: unknown }
  return { ...rest, body: Buffer.from(String(body), 'base64') } as FuzzCase
}
