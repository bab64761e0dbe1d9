import { expect, test } from 'vitest'
import { encodeS3Path, signS3Request } from './open-s3.ts'

// These are the examples of "Signature Calculations for the Authorization Header" (Amazon S3 API Reference) with their published values.
const credentials = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
}
const at = Date.parse('2013-05-24T00:00:00Z')
const host = 'https://examplebucket.s3.amazonaws.com'

test('signS3Request() signs the published GET example', async () => {
  const request = { method: 'GET', url: `${host}/test.txt`, headers: { Range: 'bytes=0-9' }, signedAt: at } as const
  expect((await signS3Request(request, credentials)).authorization).toBe(
    'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  )
})

test('signS3Request() signs the published PUT example, whose path contains a character to encode', async () => {
  const headers = { Date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' }
  const body = Buffer.from('Welcome to Amazon S3.')
  const request = {
    method: 'PUT',
    url: `${host}/${encodeS3Path('test$file.text')}`,
    headers,
    body,
    signedAt: at,
  } as const
  expect((await signS3Request(request, credentials)).authorization).toContain(
    'Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  )
})
