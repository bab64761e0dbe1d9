// Declares the submission of outgoing mail to a mail server.

import type { DeliveryReply } from './delivery-attempt.ts'

export interface MailEnvelope {
  readonly from: string
  readonly to: readonly string[]
}

/** Submits a finished message to the smarthost, and resolves with its last reply once it has accepted the message. */
export type SubmitMail = (
  envelope: MailEnvelope,
  octets: Uint8Array,
) => Promise<{ readonly response: string; readonly reply?: DeliveryReply | undefined }>
