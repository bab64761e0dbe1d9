import { describe, expect, it } from 'vitest'
import {
  aguiCodec,
  type EntryBody,
  encodeSwarmImages,
  envelopeCodec,
  parseSwarmMessage,
  storeCodec,
  swarmCodec,
} from '../index.ts'

const png = Buffer.from('89504e470d0a1a0a00', 'hex')
const row = { role: 'user', agentName: 'triage', content: 'hi', mode: 'user' }
let made = 0
const context = { thread_id: 't', at: '2026-03-13T10:00:00.000Z', newId: () => `s${++made}` }
const read = (...rows: object[]): readonly EntryBody[] => swarmCodec.read(rows, context)
const again = (...rows: object[]) => JSON.parse(JSON.stringify(swarmCodec.write(read(...rows))))

describe('ISwarmMessage', () => {
  it('returns with every field unchanged (W-01)', () => {
    const message = {
      role: 'assistant',
      agentName: 'refunds',
      content: 'one moment',
      mode: 'tool',
      tool_calls: [
        { id: 'c1', type: 'function', function: { name: 'refund', arguments: { amount: 5, deep: { a: [null] } } } },
      ],
      tool_call_id: 'c0',
      images: [png.toString('base64')],
      payload: { image_id: 'i1' },
    }
    expect(again(message)).toEqual([message])
  })

  it('accepts the three further roles (W-02)', () => {
    const rows = ['resque', 'flush', 'developer'].map(role => ({ ...row, role, mode: 'tool' }))
    expect(again(...rows)).toEqual(rows)
    expect(read(...rows).map(({ kind, role }) => [kind, role])).toEqual([
      ['rescue', 'marker'],
      ['flush', 'marker'],
      ['developer', 'developer'],
    ])
  })

  it('fails by name for an unknown mode, an unknown type of call, and two calls with one id (W-03, W-07)', () => {
    const refuse = (change: object) => () => parseSwarmMessage({ ...row, ...change })
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: {} } }
    const refused = (message: string) =>
      expect.objectContaining({ code: 'malformed', message: expect.stringContaining(message) })
    expect(refuse({ mode: 'other' })).toThrow(refused('Cannot read swarm message: mode:'))
    expect(refuse({ role: 'wizard' })).toThrow(refused('Cannot read swarm message: role:'))
    expect(refuse({ tool_calls: [{ ...call, type: 'other' }] })).toThrow(
      refused('Cannot read swarm message: tool_calls.0.type:'),
    )
    expect(refuse({ tool_calls: [call, call] })).toThrow(
      refused('Cannot read swarm message: tool_calls: two calls have one id'),
    )
    expect(refuse({ tool_calls: [{ ...call, function: { name: 'f', arguments: '{}' } }] })).toThrow(
      refused('must be a JSON object'),
    )
  })

  it('distinguishes a null, an absent and an object payload (W-04)', () => {
    const rows = [{ ...row, payload: null }, row, { ...row, payload: {} }, { ...row, payload: { a: null } }]
    expect(again(...rows)).toEqual(rows)
  })

  it('has the same bytes for images as bytes, Blob and base64, and a file of their type (W-05)', async () => {
    const images = await encodeSwarmImages([png, new Blob([png]), png.toString('base64')])
    expect(new Set(images).size).toBe(1)
    const several = [new Blob([png]), new Uint8Array(png), png.toString('base64')]
    const live = [{ ...row, role: 'user', mode: 'user', images: several }] as const
    expect(swarmCodec.write(await swarmCodec.readLive(live, context))).toEqual([{ ...row, images }])
    expect(() => read({ ...row, images: [new Blob([png])] })).toThrow('images.0: must be base64 text or bytes')
    const [entry] = read({ ...row, images: [new Uint8Array(png)] })
    expect(entry?.content).toEqual({
      parts: [
        { kind: 'text', mime: 'text/plain', content: 'hi' },
        {
          kind: 'file',
          mime: 'image/png',
          size: 9,
          bytes_ref: { kind: 'inline', data_base64: png.toString('base64') },
        },
      ],
    })
    const source = { type: 'data', value: png.toString('base64'), mimeType: 'image/png' }
    const shown = { id: 'm', role: 'user', content: [{ type: 'image', source }] }
    expect(swarmCodec.write(aguiCodec.read([shown], context))).toMatchObject([{ images: [png.toString('base64')] }])
    const odd = { ...row, images: ['not base64!', `data:image/jpeg;base64,${png.toString('base64')}`] }
    expect(again(odd)).toEqual([odd])
  })

  it('has arguments as an object, in AG-UI as text, in 000 and 002 as a map, equal after all conversions (W-06)', () => {
    const given = {
      ...row,
      role: 'assistant',
      mode: 'tool',
      content: '',
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: { a: { b: 1 } } } }],
    }
    const entries = read(given)
    expect(aguiCodec.write(entries)[0]?.toolCalls?.[0]?.function.arguments).toBe('{"a":{"b":1}}')
    expect(envelopeCodec.write(entries)[0]?.payload.parameters).toEqual({ a: { b: 1 } })
    expect(storeCodec.write(entries)[0]).toMatchObject({ type: 'action', tool: 'f', args: { a: { b: 1 } } })
    expect(again(given)).toEqual([given])
  })
})
