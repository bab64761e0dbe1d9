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

/** A supported provider: how to open its webhook, its reply codes and its size limit. */
export interface ProviderRow<Name extends ProviderName = ProviderName> {
  open(config: NonNullable<ProvidersConfig[Name]>, system: ProviderSystem): MailProvider
  readonly replies: ProviderReplies
  readonly size: ProviderSize
}

/** The refusals that the sender can fix. A bounce of suspicious mail would reach a person who never wrote it. */
const bounces: ReadonlySet<RejectionCode> = new Set(['no_recipient', 'too_large', 'forbidden'])
const overheadBytes = 64 * 1024
const base64Size: ProviderSize = { factor: 1.4, overheadBytes }
const formSize: ProviderSize = { factor: 3, overheadBytes }
const jsonSize: ProviderSize = { factor: 2, overheadBytes }

/** Amazon SNS carries 256 KB, and escapes the JSON once more. */
const snsSize: ProviderSize = { factor: 2, overheadBytes, limitBytes: 1024 * 1024 }

/** The supported providers. To add a provider, add a file and a row. */
export const providerRows: { readonly [Name in ProviderName]-?: ProviderRow<Name> } = {
  postal: { open: openPostal, replies: { refusedStatus: 422, bounces }, size: base64Size },
  mailgun: { open: openMailgun, replies: { refusedStatus: 406 }, size: formSize },
  // SendGrid retries after every other status for three days.
  sendgrid: { open: openSendGrid, replies: { refusedStatus: 200 }, size: formSize },
  postmark: { open: openPostmark, replies: { refusedStatus: 403 }, size: jsonSize },
  ses: { open: openSes, replies: { refusedStatus: 403, unprovenStatus: 403 }, size: snsSize },
  cloudmailin: { open: openCloudMailin, replies: { refusedStatus: 422, bounces, isReasonText: true }, size: formSize },
  forwardemail: { open: openForwardEmail, replies: { refusedStatus: 422, bounces }, size: jsonSize },
}
