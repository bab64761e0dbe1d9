import { escapeHtml } from '@postern/core'
import type { ActivityPubConfig } from '../config.ts'

const followWords: Readonly<Record<ActivityPubConfig['follows'], string>> = {
  open: 'Follow it from there, too.',
  manual: 'You may ask to follow it from there; its operator decides.',
  closed: 'It takes no followers.',
}

/** How people of the fediverse reach an agent, for its page. */
export function renderFediverseInvitation(
  agent: string,
  domain: string,
  follows: ActivityPubConfig['follows'],
): string {
  const address = escapeHtml(`@${agent}@${domain}`)
  return `From the fediverse: search for <code>${address}</code> on your own server, then mention it in a post. ${followWords[follows]}`
}
