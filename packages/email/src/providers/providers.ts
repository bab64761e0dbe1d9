// Lists the supported mail providers with their reply codes and size limits.
import type { RejectionCode } from '@postern/message'
import type { ProvidersConfig } from '../config/providers.ts'
import { openCloudMailin } from './cloudmailin.ts'
import { openForwardEmail } from './forwardemail.ts'
import { openMailgun } from './mailgun.ts'
import { openPostal } from './postal.ts'
import { openPostmark } from './postmark.ts'
import type { MailProvider, ProviderLanguage, ProviderSize, ProviderSystem } from './provider.ts'
import { openSendGrid } from './sendgrid.ts'
import { openSes } from './ses.ts'

export type ProviderName = keyof ProvidersConfig

/** Everything there is to know about a provider. */
export interface ProviderRow<Name extends ProviderName = ProviderName> {
  open(config: NonNullable<ProvidersConfig[Name]>, system: ProviderSystem): MailProvider
  readonly language: ProviderLanguage
  readonly size: ProviderSize
}

/** Only faults that the sender can fix: a bounce of suspicious mail would reach a person who never wrote. */
const bounces: ReadonlySet<RejectionCode> = new Set(['no_recipient', 'too_large', 'forbidden'])
const [inBase64, inForm, inJson] = [1.4, 3, 2].map(factor => ({ factor, overheadBytes: 64 * 1024 })) as [
  ProviderSize,
  ProviderSize,
  ProviderSize,
]

/** Amazon SNS carries 256 KB, escaped once more. */
const inSns: ProviderSize = { factor: 2, overheadBytes: 64 * 1024, limitBytes: 1024 * 1024 }

/** A further provider is a file and a row here. */
export const providerRows: { readonly [Name in ProviderName]-?: ProviderRow<Name> } = {
  postal: { open: openPostal, language: { refusedStatus: 422, bounces }, size: inBase64 },
  mailgun: { open: openMailgun, language: { refusedStatus: 406 }, size: inForm },
  // Every other status is tried again for three days.
  sendgrid: { open: openSendGrid, language: { refusedStatus: 200 }, size: inForm },
  postmark: { open: openPostmark, language: { refusedStatus: 403 }, size: inJson },
  ses: { open: openSes, language: { refusedStatus: 403, unprovenStatus: 403 }, size: inSns },
  cloudmailin: { open: openCloudMailin, language: { refusedStatus: 422, bounces, isReasonText: true }, size: inForm },
  forwardemail: { open: openForwardEmail, language: { refusedStatus: 422, bounces }, size: inJson },
}
