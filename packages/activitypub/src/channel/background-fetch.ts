// Fetches the posts before a message.

import type { ChannelConversations } from '@postern/pipeline'
import { createBackground } from '../background/background.ts'
import { createPostFinder } from '../background/remote-posts.ts'
import { readReferences } from '../format/targets.ts'
import type { ChannelDeps } from './deps.ts'

/** Creates the function that fetches the posts before a message. The function returns at once for most messages, because they answer and quote no post. */
export function createBackgroundFetch(deps: ChannelDeps): NonNullable<ChannelConversations['fetchBackground']> {
  const fetchBackground = createBackground({ ...deps, findRemotePost: createPostFinder(deps) })
  return async function fetchReferredPosts(turn, signal) {
    const { parent, quote } = readReferences(turn)
    return parent || quote ? fetchBackground(turn, signal) : []
  }
}
