export { encode } from 'uqr'
