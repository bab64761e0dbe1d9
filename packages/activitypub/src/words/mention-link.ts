import { escapeHtml } from '@postern/core'

/** A person to notify. */
export interface Mentioned {
  /** Actor IRI. */
  readonly href: string
  /** `@user@host`, or the IRI when the host does not confirm one. */
  readonly name: string
  /** A page to show people. */
  readonly url: string
}

export function writeMention({ name, url }: Mentioned, label = labelOf(name)): string {
  return `<span class="h-card"><a href="${escapeHtml(url)}" class="u-url mention">@<span>${escapeHtml(label)}</span></a></span>`
}

function labelOf(name: string): string {
  return /^@([^@]+)@/.exec(name)?.[1] ?? name
}

/** The visible characters of the names before a text. */
export function mentionLength(mentioned: readonly Pick<Mentioned, 'name'>[]): number {
  return mentioned.reduce((length, { name }) => length + labelOf(name).length + 2, 0)
}
