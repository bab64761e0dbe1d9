import { fileURLToPath } from 'node:url'

/** What snac2 sent in one run of `npm run test:peers -- --capture`. */
export const snacFixtures = fileURLToPath(new URL('../../../../../fixtures/activitypub/snac2/2.75', import.meta.url))

/** Its users as they were shown, by the file that keeps them. */
export const snacActors = { 'actor.json': '/alice', 'bob.json': '/bob' } as const
