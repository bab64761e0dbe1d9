import type { OnceStore, Platform, RejectionCode } from '@postern/core'
import type { MailEnvelopeIn } from '../mail/raw.ts'

/** One request of a provider: its body read and bounded, nothing of it believed. */
export interface WebhookRequest {
  readonly headers: Headers
  readonly body: Buffer
}

/** The mail in a request, octet by octet as far as the provider keeps it so. */
export interface DecodedMail {
  readonly octets: Uint8Array
  readonly envelope: Omit<MailEnvelopeIn, 'source'>
  /** The way through the provider may have changed octets: what does not verify may have been good. */
  readonly isLossy: boolean
  /** The provider saw DMARC pass for the author, and the operator believes it (`trust_provider_verdict`). */
  readonly hasDmarcPass?: boolean | undefined
}

/** One provider's webhook, opened with its configuration. */
export interface MailProvider {
  /** Settles by the header alone what can be, before a body is read. @throws Rejection */
  checkHeaders?(headers: Headers): void
  /**
   * Proves the webhook and takes the mail out of it; undefined when it brings none.
   * @throws Rejection when it is not proven or not readable
   * @throws Unavailable when the provider is set up in a way that brings no raw mail: time and an operator fix it
   */
  decode(request: WebhookRequest): Promise<DecodedMail | undefined> | DecodedMail | undefined
  /** The mail was taken; what proved it once need not prove it again. */
  remember?(request: WebhookRequest): void
}

export type ProviderPlatform = Pick<Platform, 'fetch' | 'now' | 'log'> & OnceStore

/** How a provider is told what became of its mail (EM-2.3). Taken is always 200, later always 503. */
export interface ProviderLanguage {
  /** "Do not bring it again." */
  readonly refused: number
  /** Of providers that let their refusal bounce: what the mail's sender should hear. Everything else is dropped with 200. */
  readonly bounces?: ReadonlySet<RejectionCode> | undefined
  /** What answers an unproven webhook; default 401. */
  readonly unproven?: number | undefined
  /** The answer's text goes to the mail's sender: it must be the reason and nothing else. */
  readonly isReasonText?: true | undefined
}

/** How much larger than the mail in it a body may be, and where the provider itself has a limit, that. */
export interface ProviderSize {
  readonly factor: number
  readonly rest: number
  readonly most?: number | undefined
}
