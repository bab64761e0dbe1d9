// Names the fixtures that were captured from snac.
import { fileURLToPath } from 'node:url'

/** The folder of the requests that snac2 sent in one run of `npm run test:peers -- --capture`. */
export const snacFixtures = fileURLToPath(new URL('../../../../../fixtures/activitypub/snac2/2.75', import.meta.url))

/** The documents of its users, by the file that stores them. */
export const snacActors = { 'actor.json': '/alice', 'bob.json': '/bob' } as const
