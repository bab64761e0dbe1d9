// Lists the supported mail providers with their reply codes and size limits.
import type { RejectionCode } from '@postern/message'
import type { ProvidersConfig } from '../config/providers.ts'
import { openCloudMailin } from './cloudmailin.ts'
import { openForwardEmail } from './forwardemail.ts'
import { openMailgun } from './mailgun.ts'
import { openPostal } from './postal.ts'
import { openPostmark } from './postmark.ts'
import type { MailProvider, ProviderReplies, ProviderSize, ProviderSystem } from './provider.ts'
import { openSendGrid } from './sendgrid.ts'
import { openSes } from './ses.ts'

export type ProviderName = keyof ProvidersConfig

/** Everything there is to know about a provider. */
export interface ProviderRow<Name extends ProviderName = ProviderName> {
  open(config: NonNullable<ProvidersConfig[Name]>, system: ProviderSystem): MailProvider
  readonly replies: ProviderReplies
  readonly size: ProviderSize
}

/** Only faults that the sender can fix: a bounce of suspicious mail would reach a person who never wrote. */
const bounces: ReadonlySet<RejectionCode> = new Set(['no_recipient', 'too_large', 'forbidden'])
const [base64Size, formSize, jsonSize] = [1.4, 3, 2].map(factor => ({ factor, overheadBytes: 64 * 1024 })) as [
  ProviderSize,
  ProviderSize,
  ProviderSize,
]

/** Amazon SNS carries 256 KB, escaped once more. */
const snsSize: ProviderSize = { factor: 2, overheadBytes: 64 * 1024, limitBytes: 1024 * 1024 }

/** A further provider is a file and a row here. */
export const providerRows: { readonly [Name in ProviderName]-?: ProviderRow<Name> } = {
  postal: { open: openPostal, replies: { refusedStatus: 422, bounces }, size: base64Size },
  mailgun: { open: openMailgun, replies: { refusedStatus: 406 }, size: formSize },
  // Every other status is tried again for three days.
  sendgrid: { open: openSendGrid, replies: { refusedStatus: 200 }, size: formSize },
  postmark: { open: openPostmark, replies: { refusedStatus: 403 }, size: jsonSize },
  ses: { open: openSes, replies: { refusedStatus: 403, unprovenStatus: 403 }, size: snsSize },
  cloudmailin: { open: openCloudMailin, replies: { refusedStatus: 422, bounces, isReasonText: true }, size: formSize },
  forwardemail: { open: openForwardEmail, replies: { refusedStatus: 422, bounces }, size: jsonSize },
}
