// Fetches the posts before a message.

import type { ChannelConversations } from '@postern/pipeline'
import { createBackground } from '../background/background.ts'
import { createPostFinder } from '../background/remote-posts.ts'
import { readReferences } from '../format/targets.ts'
import type { ChannelDeps } from './deps.ts'

/** Creates the function that fetches the posts before a message. Most messages answer and quote no post, so that there is nothing to fetch. */
export function createBackgroundFetch(deps: ChannelDeps): NonNullable<ChannelConversations['fetchBackground']> {
  const fetchBackground = createBackground({ ...deps, findRemotePost: createPostFinder(deps) })
  return (turn, signal) => {
    const { parent, quote } = readReferences(turn)
    return parent || quote ? fetchBackground(turn, signal) : undefined
  }
}
