// Lists the parts of the message that a mail becomes: text, files and details.

import type { ArtifactPart, FilePart, Part } from '@postern/message'
import { replayFlag } from '@postern/message'
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import type { MailBody, MailDetails, MailFile } from '../body/mail-body.ts'
import { readHeaderText } from '../mail/header-text.ts'
import { formatMailbox } from '../mail/mailbox.ts'

/** The maximum number of recipients that an agent sees. */
const maxShownRecipients = 50

/** Describes the recipients besides the agent, and the person who forwarded the mail. */
export function describeAddressing({ addresses: { to, cc }, header }: ProvenMail): MailDetails {
  const resentFrom = readHeaderText(header, 'resent-from')
  const isOnlyRecipient = to.length + cc.length <= 1
  return {
    ...(!isOnlyRecipient && to.length > 0 && { to: to.slice(0, maxShownRecipients).map(formatMailbox) }),
    ...(!isOnlyRecipient && cc.length > 0 && { cc: cc.slice(0, maxShownRecipients).map(formatMailbox) }),
    ...(resentFrom && { resent_from: resentFrom }),
  }
}

/** The flags that an agent sees together with the text. */
const shownFlagNames: ReadonlySet<string> = new Set([
  'hidden_text',
  'invisible_characters',
  'alternative_mismatch',
  'text_cut',
  'attachments_dropped',
  'smime_signed',
  'smime_encrypted',
  'pgp_signed',
  'pgp_encrypted',
  'tnef',
  'display_name_spoof',
  'lookalike_domain',
  'lookalike',
  'mixed_script',
  'replayed_signature',
  replayFlag,
  'unsigned_to',
  'unsigned_cc',
  'unsigned_subject',
  'unsigned_date',
  'unsigned_in_reply_to',
  'unsigned_references',
  'unsigned_content_type',
  'unsigned_structure',
  'unsigned_content_transfer_encoding',
  'auto_reply',
])

/**
 * Lists the parts for an agent: the newest text (or else the subject), the files, further texts as artifacts, and the
 * details.
 */
export function listMailParts(
  { text, files, details }: Pick<MailBody, 'text' | 'files' | 'details'>,
  { subject, flags }: { readonly subject: string; readonly flags: readonly string[] },
): Part[] {
  const content = text || subject
  return [
    ...(content ? [{ kind: 'text', mime: 'text/plain', content } as const] : []),
    ...files.map(toFilePart),
    ...listDetailParts({ ...(text && subject && { subject }), ...details }, flags),
  ]
}

function toFilePart({ name, mime, size, digest, role }: MailFile): FilePart | ArtifactPart {
  const bytes_ref = { kind: 'content_addressed', algo: 'sha256', digest } as const
  if (!role) return { kind: 'file', name, mime, size, bytes_ref }
  return { kind: 'artifact', name, mime, size, artifact_type: `email.${role}`, bytes_ref }
}

/**
 * Returns the part of kind `email`, which this gateway defines, with the details for the agent. The list is empty if
 * there are no details. Agents that do not know the kind skip it.
 */
function listDetailParts(details: MailDetails, flags: readonly string[]): Part[] {
  const shownFlags = [...new Set(flags.filter(flag => shownFlagNames.has(flag)))]
  const part = { kind: 'email', ...details, ...(shownFlags.length > 0 && { flags: shownFlags }) }
  return Object.keys(part).length > 1 ? [part as unknown as Part] : []
}
