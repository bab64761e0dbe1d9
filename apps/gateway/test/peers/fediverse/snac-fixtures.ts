// Names the fixtures that were captured from snac.
import { fileURLToPath } from 'node:url'

/** The folder of the requests that snac2 sent in one run of `npm run test:peers -- --capture`. */
export const snacFixtureFolder = fileURLToPath(
  new URL('../../../../../fixtures/activitypub/snac2/2.75', import.meta.url),
)

/** The path of each snac user's actor document, by the name of the fixture that stores the document. */
export const snacActorPaths = { 'actor.json': '/alice', 'bob.json': '/bob' } as const
