// Writes a mention of a person as HTML.
import { escapeHtml } from '@postern/message'

/** A person whom a post notifies. */
export interface MentionedPerson {
  /** The IRI of the actor. */
  readonly href: string
  /** The name `@user@host`, or the IRI if the host does not confirm a name. */
  readonly name: string
  /** The page of the person for people. */
  readonly url: string
}

export function renderMention({ name, url }: MentionedPerson, label = shortenName(name)): string {
  return `<span class="h-card"><a href="${escapeHtml(url)}" class="u-url mention">@<span>${escapeHtml(label)}</span></a></span>`
}

function shortenName(name: string): string {
  return /^@([^@]+)@/.exec(name)?.[1] ?? name
}

/** Returns the number of visible characters of the names before a text. */
export function countMentionChars(mentions: readonly Pick<MentionedPerson, 'name'>[]): number {
  return mentions.reduce((length, { name }) => length + shortenName(name).length + 2, 0)
}
