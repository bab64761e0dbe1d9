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
  /** Decides by the header alone what it can, before a body is read. @throws Rejection */
  checkHeaders?(headers: Headers): void
  /**
   * Proves the webhook and extracts the mail; undefined when it brings none.
   * @throws Rejection when it is not proven or not readable
   * @throws Unavailable when the provider is set up to send no raw mail: an operator fixes it in time
   */
  decode(request: WebhookRequest): Promise<DecodedMail | undefined> | DecodedMail | undefined
  /** The mail was accepted, so its proof need not count again. */
  remember?(request: WebhookRequest): void
}

export type ProviderPlatform = Pick<Platform, 'fetch' | 'now' | 'log'> & OnceStore

/** The reply to a provider about its mail (EM-2.3). Accepted is always 200, later always 503. */
export interface ProviderLanguage {
  /** "Do not bring it again." */
  readonly refused: number
  /**
   * For providers that turn a refusal into a bounce: the refusals that the mail's sender should see. All others get
   * 200.
   */
  readonly bounces?: ReadonlySet<RejectionCode> | undefined
  /** The reply to an unproven webhook; default 401. */
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
