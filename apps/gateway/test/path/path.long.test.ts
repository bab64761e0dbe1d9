import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pathChannels } from './channels.ts'
import { readList } from './lists.ts'
import { measurePaths } from './measure-paths.ts'
import type { RecordedGateway } from './recorded-gateway.ts'
import { openRecordedGateway, repository } from './recorded-gateway.ts'

const text = readFileSync(join(repository, 'docs/reference/path-files.md'), 'utf8')
let gateway: RecordedGateway
let paths: Awaited<ReturnType<typeof measurePaths>>

beforeAll(async () => {
  gateway = await openRecordedGateway()
  paths = await measurePaths(gateway)
}, 300_000)
afterAll(() => gateway.close())

describe.each(pathChannels)('the path of a message by $channel', ({ channel, title }) => {
  test('matches the list in docs/reference/path-files.md exactly', () => {
    const runFiles = paths.get(channel) ?? []
    const listed = readList(text, title)
    expect({
      missing: runFiles.filter(path => !listed.includes(path)),
      extra: listed.filter(path => !runFiles.includes(path)),
      listedTwice: listed.filter((path, index) => listed.indexOf(path) !== index),
    }).toEqual({ missing: [], extra: [], listedTwice: [] })
  })
})
