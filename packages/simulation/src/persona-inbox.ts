// Lists everything that reached one persona of the simulation, which is an account of the fediverse or a mailbox.
import type { SimFediverse } from './fediverse/fediverse.ts'
import type { ReceivedActivity } from './fediverse/inbox.ts'
import { stripAddressPrefix } from './fediverse/post.ts'
import { readHtmlText } from './html-text.ts'
import type { SimMail } from './mail/mail.ts'
import type { ReceivedMail } from './mail/sink.ts'
import { decodeMailHeader } from './mail/sink.ts'
import type { LoopbackFetch } from './net/loopback-fetch.ts'
import type { SentFilePart } from './sent-part.ts'

/** A post, another activity or a mail that reached a persona. */
export interface InboxItem {
  readonly via: 'activitypub' | 'email'
  /** `mail`, or the type of the activity: `Create` for a post, `Update`, `Delete`, `Like`, `Announce`, `Accept`. */
  readonly type: string
  /** The actor's IRI, or the `From` field of the mail. */
  readonly from: string
  /** The subject of the mail, or the content warning of the post. */
  readonly subject?: string | undefined
  readonly text: string
  readonly files: readonly SentFilePart[]
  /** The id of the post or mail, which a reply would name. */
  readonly id?: string | undefined
  /** The activity, or the mail. */
  readonly raw: unknown
}

interface InboxDeps {
  readonly fediverse: SimFediverse
  readonly mail: SimMail
  readonly loopback: LoopbackFetch
}

/**
 * Lists the items that reached a persona, in order, with the files of posts. @throws Error for a persona without an inbox, such as an A2A
 * caller
 */
export async function listInbox(
  persona: string,
  { fediverse, mail, loopback }: InboxDeps,
): Promise<readonly InboxItem[]> {
  const address = stripAddressPrefix(persona)
  if (fediverse.actors.has(address)) {
    return Promise.all(
      fediverse.listReceived(address).map(receivedActivity => describeActivity(receivedActivity, loopback)),
    )
  }
  if (!address.includes('@'))
    throw new Error(`"${persona}" has no inbox: name an account of the fediverse or a mailbox`)
  return mail.received.filter(({ envelope }) => envelope.to.includes(address)).map(describeMail)
}

interface Note {
  readonly id?: string
  readonly content?: string
  readonly summary?: string
  readonly attachment?: readonly { readonly url: string; readonly name?: string; readonly mediaType?: string }[]
}

async function describeActivity({ activity }: ReceivedActivity, loopback: LoopbackFetch): Promise<InboxItem> {
  const object: unknown = activity.object
  const note: Note = typeof object === 'object' && object !== null ? object : { id: String(object) }
  const { id, content = '', summary, attachment = [] } = note
  const files = attachment.map(async ({ url, name = '', mediaType: mime = '' }): Promise<SentFilePart> => {
    const answer = await loopback.fetch(url)
    if (!answer.ok) throw new Error(`${url} answered ${answer.status}`)
    return { kind: 'file', name, mime, bytes: new Uint8Array(await answer.arrayBuffer()) }
  })
  return {
    via: 'activitypub',
    type: String(activity.type),
    from: String(activity.actor),
    ...(typeof summary === 'string' && { subject: summary }),
    text: readHtmlText(content),
    files: await Promise.all(files),
    id,
    raw: activity,
  }
}

function describeMail({ headers, text = '', files, messageId, octets }: ReceivedMail): InboxItem {
  const readHeader = (name: string) => decodeMailHeader(headers.get(name)?.[0] ?? '')
  return {
    via: 'email',
    type: 'mail',
    from: readHeader('from'),
    subject: readHeader('subject'),
    text: text.trim(),
    files,
    id: messageId,
    raw: octets.toString(),
  }
}
