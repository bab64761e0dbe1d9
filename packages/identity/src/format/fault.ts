import type { EvidenceCode } from '@postern/core'

/** Invalid evidence. The operator sees `code` and `message`, which never quote the evidence. */
export class EvidenceFault extends Error {
  override readonly name = 'EvidenceFault'
  readonly code: EvidenceCode

  constructor(code: EvidenceCode, reason: string, options: ErrorOptions = {}) {
    super(reason, options)
    this.code = code
  }
}
