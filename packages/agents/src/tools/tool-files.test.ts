import type { ToolCallPart } from '@postern/message'
import { expect, test } from 'vitest'
import { openModelAgent } from '../../test/model-agent.ts'
import { replyWith, respondWithToolCall } from '../../test/model-server.ts'

/** Calls a tool once, and returns the answer and the result that the model read. */
async function callOnce(name: string, log?: (text: string) => void) {
  const config = { tools: './tools/album.ts' }
  const { ask, server } = await openModelAgent([respondWithToolCall(name, {}), replyWith('Here it is.')], { config })
  const warn = (fields: object) => log?.(String((fields as { readonly err?: unknown }).err))
  const { answer } = await ask('hello', {
    log: { debug: () => {}, info: () => {}, warn, error: () => {} },
  })
  const [part, ...otherParts] = answer?.parts ?? []
  const toolAnswer = String(server.requests[1]?.body.messages.at(-1)?.content)
  return { part: part as ToolCallPart, others: otherParts, heard: toolAnswer }
}

test('the file that a tool returns is part of the answer, and the model reads its name, type and size', async () => {
  const { part, others, heard } = await callOnce('report')
  const expectedFile = { kind: 'file', name: 'report.pdf', mime: 'application/pdf', size: 300_000 }
  const result = { rows: 12, parts: [expectedFile, { kind: 'text', mime: 'text/plain', content: 'twelve rows' }] }
  expect(JSON.parse(heard)).toEqual(result)
  expect(part.result).toEqual(result)
  expect(part).not.toHaveProperty('files')
  expect(others).toEqual([
    {
      kind: 'file',
      name: 'report.pdf',
      mime: 'application/pdf',
      bytes_ref: { kind: 'inline', data_base64: Buffer.alloc(300_000, 'report ').toString('base64') },
    },
    { kind: 'text', mime: 'text/markdown', content: 'Here it is.' },
  ])
})

test('a tool may return one file, or a list with files, and the model reads no bytes', async () => {
  const summary = { kind: 'file', name: 'a.txt', mime: 'text/plain', size: 5 }
  const file = {
    ...{ kind: 'file', name: 'a.txt', mime: 'text/plain' },
    bytes_ref: { kind: 'inline', data_base64: 'aGVsbG8=' },
  }
  const single = await callOnce('single')
  expect(JSON.parse(single.heard)).toEqual(summary)
  expect(single.others[0]).toEqual(file)
  const list = await callOnce('list')
  const text = { kind: 'text', mime: 'text/plain', content: 'a letter' }
  expect(JSON.parse(list.heard)).toEqual([summary, text, { kind: 'file', path: '/b' }])
  expect(list.others[0]).toEqual(file)
})

test('a tool attaches bytes, and a picture gets the type of its bytes', async () => {
  const { others, heard } = await callOnce('sketch')
  expect(heard).toBe('drawn')
  expect(others[0]).toEqual({
    kind: 'file',
    name: 'sketch.png',
    mime: 'image/png',
    size: 8,
    bytes_ref: { kind: 'inline', data_base64: 'iVBORw0KGgo=' },
  })
})

test('an invalid file fails the call, and the log names the member', async () => {
  const logged: string[] = []
  const { part, others, heard } = await callOnce('torn', text => void logged.push(text))
  expect(JSON.parse(heard)).toEqual({ error: 'The tool failed.' })
  expect(part.error).toEqual({ message: 'The tool failed.' })
  expect(others).toEqual([{ kind: 'text', mime: 'text/markdown', content: 'Here it is.' }])
  expect(logged.join()).toContain('bytes_ref.data_base64')
})

test('a tool that fails adds no file to the answer', async () => {
  const { others } = await callOnce('gone')
  expect(others).toEqual([{ kind: 'text', mime: 'text/markdown', content: 'Here it is.' }])
})
