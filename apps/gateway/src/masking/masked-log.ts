// Hides secrets in lines of the log: in sentences, fields, errors and their causes.
import type { Log, LogFields } from '@postern/message'
import { maskError } from './masked-error.ts'
import type { SecretMask } from './secret-mask.ts'

export function maskLog(log: Log, mask: SecretMask): Log {
  const maskFields = (fields: LogFields): LogFields => {
    const maskedFields = mask.hideInAll(fields)
    return maskedFields.err === undefined ? maskedFields : { ...maskedFields, err: maskError(maskedFields.err, mask) }
  }
  return {
    debug: (fields, text) => log.debug(maskFields(fields), mask.hideIn(text)),
    info: (fields, text) => log.info(maskFields(fields), mask.hideIn(text)),
    warn: (fields, text) => log.warn(maskFields(fields), mask.hideIn(text)),
    error: (fields, text) => log.error(maskFields(fields), mask.hideIn(text)),
  }
}
