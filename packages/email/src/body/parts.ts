import type { ArtifactPart, FilePart, Part } from '@postern/core'
import { replayFlag } from '@postern/core'
import type { MailDetails } from './details.ts'
import type { MailBody, MailFile } from './mail-body.ts'

/** Flags that an agent ought to know of when it reads the text. */
const toldFlags: ReadonlySet<string> = new Set([
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
 * The parts for an agent: the newest text (or else the subject), the files, further texts as artifacts, and the
 * details.
 */
export function listMailParts(
  { text, files, details }: Pick<MailBody, 'text' | 'files' | 'details'>,
  { subject, flags }: { readonly subject: string; readonly flags: readonly string[] },
): Part[] {
  const content = text || subject
  return [
    ...(content ? [{ kind: 'text', mime: 'text/plain', content } as const] : []),
    ...files.map(partOfFile),
    ...listDetailParts({ ...(text && subject && { subject }), ...details }, flags),
  ]
}

function partOfFile({ name, mime, size, digest, role }: MailFile): FilePart | ArtifactPart {
  const bytes_ref = { kind: 'content_addressed', algo: 'sha256', digest } as const
  if (!role) return { kind: 'file', name, mime, size, bytes_ref }
  return { kind: 'artifact', name, mime, size, artifact_type: `email.${role}`, bytes_ref }
}

/**
 * The part of kind `email` (ours) that carries them to the agent; none where there is nothing to say. Agents that do not know
 * the kind pass it over.
 */
function listDetailParts(details: MailDetails, flags: readonly string[]): Part[] {
  const told = [...new Set(flags.filter(flag => toldFlags.has(flag)))]
  const part = { kind: 'email', ...details, ...(told.length > 0 && { flags: told }) }
  return Object.keys(part).length > 1 ? [part as unknown as Part] : []
}
