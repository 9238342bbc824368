import { handler } from '../../triton';

export const dynamic = 'force-dynamic';
export { handler as GET, handler as POST };
