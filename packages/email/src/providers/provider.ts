// Defines the webhook of a mail provider: its authentication, its mail and its reply codes.
import type { RejectionCode, System } from '@postern/message'
import type { SingleUseStore } from '@postern/pipeline'
import type { IncomingEnvelope } from '../mail/raw-mail.ts'

/** One request of a provider. Its body is read, within the size limit, but nothing in it is verified. */
export interface WebhookRequest {
  readonly headers: Headers
  readonly body: Buffer
}

/** The mail in a request. Its octets are the original ones as far as the provider preserves them. */
export interface DecodedMail {
  readonly octets: Uint8Array
  readonly envelope: Omit<IncomingEnvelope, 'source'>
  /** True if the provider may have changed octets, so that a valid signature may no longer verify. */
  readonly isLossy: boolean
  /** True if the provider saw DMARC pass for the author and the operator trusts that verdict (`trust_provider_verdict`). */
  readonly hasDmarcPass?: boolean | undefined
}

/** One provider's webhook, opened with its configuration. */
export interface MailProvider {
  /**
   * Refuses a request by its header alone, before the body is read.
   * @throws Rejection
   */
  checkHeaders?(headers: Headers): void
  /**
   * Verifies the webhook and extracts the mail. It returns undefined if the webhook contains no mail.
   * @throws Rejection if the webhook is not proven or not readable
   * @throws Unavailable if the provider is configured to send no raw mail: the provider retries until an operator has
   * changed that
   */
  decode(request: WebhookRequest): Promise<DecodedMail | undefined> | DecodedMail | undefined
  /** Remembers the proof of a request that was accepted or finally refused, so that it is not accepted again. */
  remember?(request: WebhookRequest): void
}

export type ProviderSystem = Pick<System, 'fetch' | 'now' | 'log'> & SingleUseStore

/** The status codes of replies to a provider about its mail (EM-2.3). An accepted mail always gets 200, and a deferred one always 503. */
export interface ProviderReplies {
  /** The status that makes the provider stop its retries. */
  readonly refusedStatus: number
  /**
   * The refusals that the mail's sender should see, for a provider that turns a refusal into a bounce. All other
   * refusals get 200. If it is absent, every refusal gets `refusedStatus`.
   */
  readonly bounces?: ReadonlySet<RejectionCode> | undefined
  /** The status of a reply to an unproven webhook. The default is 401. */
  readonly unprovenStatus?: number | undefined
  /**
   * True if the provider forwards the reply's text to the mail's sender. Then the body of the reply is only the reason.
   */
  readonly isReasonText?: true | undefined
}

/**
 * The largest body of a webhook: `factor` times the largest mail plus `overheadBytes`, but at most the provider's own
 * limit `limitBytes`.
 */
export interface ProviderSize {
  readonly factor: number
  readonly overheadBytes: number
  readonly limitBytes?: number | undefined
}
