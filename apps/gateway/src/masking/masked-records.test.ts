import type { Lookup } from '@postern/pipeline'
import type { GatewayStore } from '@postern/store'
import { expect, test } from 'vitest'
import { maskRecords } from './masked-records.ts'
import { createSecretMask } from './secret-mask.ts'
import { listSecretTexts } from './secret-settings.ts'

test('the record of a fetch masks whole secrets, and keeps its other text for a replay', async () => {
  const settings = {
    store: 'postgres://db.example/postern',
    agents: {
      a: {
        url: 'https://github.com/acme',
        model: 'large-model',
        headers: { accept: 'application/json', key: 'spoken-word' },
      },
    },
  }
  const references = [['store'], ['agents', 'a', 'url']]
  const recordedLookups: Lookup[] = []
  const requestedKeys: string[] = []
  const store = maskRecords(
    {
      noteLookup: (lookup: Lookup) => void recordedLookups.push(lookup),
      findLookup: async (key: string) => void requestedKeys.push(key),
    } as unknown as GatewayStore,
    createSecretMask(listSecretTexts({ tree: settings, references })),
  )
  const url = 'https://github.com/acme/postern/issues?with=large-model'
  const answer = {
    status: 200,
    url,
    headers: { 'content-type': 'application/json', 'x-echo': 'spoken-word' },
    body: '',
  }
  store.noteLookup({ key: url, at: 1, answer })
  await store.findLookup(url, 1)
  expect(recordedLookups).toEqual([
    { key: url, at: 1, answer: { ...answer, headers: { ...answer.headers, 'x-echo': '(set)' } } },
  ])
  expect(requestedKeys).toEqual([url])
})
