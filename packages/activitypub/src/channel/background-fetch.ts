// Fetches the posts before a message.

import type { ChannelConversations } from '@postern/pipeline'
import { createBackground } from '../background/background.ts'
import { createPostFinder } from '../background/remote-posts.ts'
import { readReferences } from '../format/targets.ts'
import type { ChannelDeps } from './deps.ts'

/** Creates the function that fetches the posts before a message. It returns at once for most messages, which answer and quote nothing. */
export function createBackgroundFetch(deps: ChannelDeps): NonNullable<ChannelConversations['fetchBackground']> {
  const fetchBackground = createBackground({ ...deps, findRemotePost: createPostFinder(deps) })
  return async function fetchIfReferred(turn, signal) {
    const { parent, quote } = readReferences(turn)
    return parent || quote ? fetchBackground(turn, signal) : []
  }
}
