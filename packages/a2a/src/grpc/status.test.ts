import { Rejection } from '@postern/message'
import type { ChannelContext } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { toGrpcError } from './status.ts'

test('toGrpcError() states the seconds until a retry, in the trailers and in the status', () => {
  const gateway = { store: { refuse() {} }, system: { log: { error() {}, warn() {}, info() {}, debug() {} } } }
  const rejection = new Rejection('rate_limited', 'Cannot take message: too many', { retryAfter: 2.5 })
  const { code, details, metadata } = toGrpcError(rejection, gateway as unknown as ChannelContext)
  expect([code, details, metadata.get('retry-after')]).toEqual([8, 'Cannot take message: too many', ['3']])
  const status = Buffer.from(metadata.get('grpc-status-details-bin')[0] as Buffer).toString('latin1')
  // Any { type_url = 1, value = 2 } of RetryInfo { retry_delay = 1 } of Duration { seconds = 1 }
  expect(status).toContain('type.googleapis.com/google.rpc.RetryInfo\x12\x04\x0a\x02\x08\x03')
})
