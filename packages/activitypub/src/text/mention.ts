// Writes a mention of a person as HTML.
import { escapeHtml } from '@postern/message'

/** A person whom a post notifies. */
export interface Mentioned {
  /** The IRI of the actor. */
  readonly href: string
  /** The name `@user@host`, or the IRI if the host does not confirm a name. */
  readonly name: string
  /** The page of the person for people. */
  readonly url: string
}

export function writeMention({ name, url }: Mentioned, label = labelOf(name)): string {
  return `<span class="h-card"><a href="${escapeHtml(url)}" class="u-url mention">@<span>${escapeHtml(label)}</span></a></span>`
}

function labelOf(name: string): string {
  return /^@([^@]+)@/.exec(name)?.[1] ?? name
}

/** Returns the number of visible characters of the names before a text. */
export function mentionLength(mentioned: readonly Pick<Mentioned, 'name'>[]): number {
  return mentioned.reduce((length, { name }) => length + labelOf(name).length + 2, 0)
}
