import { expect, test } from 'vitest'
import { testKey } from '../test/keys.ts'
import { parseIri } from './iri.ts'
import { parseActor } from './remote-actor.ts'

const iri = parseIri('https://evil.test/users/mallory', 'its actor')
const long = `https://evil.test/${'a'.repeat(100_000)}`

test('parseActor() keeps no more of a document than thousands of actors may cost', () => {
  const actor = parseActor(
    {
      id: iri.href,
      preferredUsername: 'm'.repeat(100_000),
      name: 'n'.repeat(100_000),
      inbox: long,
      followers: long,
      url: long,
      endpoints: { sharedInbox: long },
      icon: { url: 'https://evil.test/i.png', mediaType: `image/${'p'.repeat(100_000)}` },
      publicKey: { id: long, owner: iri.href, publicKeyPem: testKey('mallory').publicPem },
    },
    iri,
  )
  expect(JSON.stringify({ ...actor, keys: [...actor.keys.keys()] }).length).toBeLessThan(10_000)
  expect(actor).toMatchObject({ inbox: undefined, sharedInbox: undefined, url: undefined })
})
