// Reads Gmail reactions, which have one emoji in a machine-readable part and texts for people.
import { isJsonObject, parseIfJson } from '@postern/message'
import type { HeaderBlock } from '../mail/header.ts'
import { findField } from '../mail/header.ts'
import type { MailBody } from './mail-body.ts'

/** The content type of a reaction (developers.google.com/workspace/gmail/reactions/format). */
const reactionType = 'text/vnd.google.email-reaction+json'
/** The largest part that is read, in octets. It is far more than a version and an emoji need. */
const maxBytes = 1_000

interface ReactionMail {
  readonly header: HeaderBlock
  readonly body: MailBody
}

/** Returns the emoji of a reaction. It returns undefined for any other mail, and for a malformed reaction. */
export function readReaction({ header, body }: ReactionMail): string | undefined {
  const part = body.files.find(({ mime, size }) => mime === reactionType && size <= maxBytes)
  const [type = ''] = (findField(header, 'content-type') ?? '').split(';', 1)
  const isOnlyPart = type.trim().toLowerCase() === reactionType
  const reactionJson = parseIfJson(part ? Buffer.from(part.bytes).toString() : isOnlyPart ? body.text : '')
  if (!isJsonObject(reactionJson) || reactionJson.version !== 1 || typeof reactionJson.emoji !== 'string')
    return undefined
  return /^\p{RGI_Emoji}$/v.test(reactionJson.emoji) ? reactionJson.emoji : undefined
}

/** Returns the body of a mail that is only a reaction, with the text that agents get for reactions on any channel. */
export function bodyOfReaction(body: MailBody, emoji: string): MailBody {
  return { ...body, text: `Reacted to the mail with ${emoji}`, files: [], details: {} }
}
